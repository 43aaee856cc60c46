"""The leaderboard as one HTML file that needs no network. Start with `render.py`."""
