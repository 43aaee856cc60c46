"""Where jobs run: in this process or in worker processes (`local`), or on a Dask cluster (`dask`).

Imports the other modules of `running`, and Dask only when a cluster is used. Start with `local.py`.
"""
