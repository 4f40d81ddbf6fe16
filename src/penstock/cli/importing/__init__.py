"""Taking over what a stopped Kafka has: reading its folders, choosing copies, writing a data folder of ours."""
