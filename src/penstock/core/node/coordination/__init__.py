"""Coordinators: replicated machines over the partitions of internal topics that this node leads.

A host carries one machine: it folds the machine from its partition, carries out what it decides, keeps its timers, and
takes it away when the partition goes. What the machine is about - groups, transactions, share state - is its own
affair.
"""
