"""The leaderboard as one page of HTML: no network, complete without scripts."""
