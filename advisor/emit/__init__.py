"""Settings that realise a recommendation in a training tool: pure, apart from how they are written.

needs.py     what a mechanism asks of a tool, from its cadence and its paths
plan.py      Recommendation -> Plan: the numbers that tools are set to, each with its evidence
tool.py      the interface of a tool, and what it answers in
alike.py     what several tools say, set or can do alike; snippets.py: pieces of code for them
tools/       one tool a file; a file that is put there is a tool
emitting.py  Plan and tool -> Emitted, or the reason why the tool cannot
writers/     Emitted -> the text of a file, one syntax a file; Emitted -> a JSON document
"""
