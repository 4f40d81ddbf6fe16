"""One replica of one partition: what the leader checks, appends, commits and lets others read."""
