"""Where jobs run: in this process, in worker processes (`local.py`), on a Dask cluster (`dask.py`)."""
