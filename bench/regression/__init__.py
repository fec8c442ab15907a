"""Performance and accuracy regressions between two commits: what bench/nightly runs.

One subject a module, lowest first: errors, files, machine; repository and building (two commits become two folders of
programs); google_benchmark and measuring (programs become samples); judging (samples become verdicts); accuracy (the golden
table); history, report and plot (what is kept); sides and night (the flow), options and command (its edge).
"""
