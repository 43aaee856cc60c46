"""What to run, and running it: study, plan, seeds, judge, executors, record, second-stage metrics."""
