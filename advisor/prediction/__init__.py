"""What a mechanism would cost in the scenario, from the nearest measurement and stated rules.

Each rule that is applied leaves a sentence (`rules`) with the distance from the measurement; a
prediction without one is a measurement (code M), with one an extrapolation (code E). Beyond the
limits (`limits.py`) the answer is "no data" (`NoPredictionError`), never a guess. Pure.

predict.py    a mechanism by its cadence -> Prediction
after_failure.py  mechanisms that act after a failure: only what was observed counts
reference.py  the measurement that a prediction starts from
stalls.py     what one save costs the training, and at which step time that was measured
scales.py     how many times the measured cost: by size, by path, by the storage's rate
restores.py   how long the state takes to come back
intervals.py  the shortest interval that is supported, the one that is fixed, the rule of another
trail.py      what is collected on the way: rules, notes, values used
limits.py     how far from a measurement a prediction may be
outcome.py    Prediction, and why there is none

Rules
  like architecture   stall per save and restore carry over between equal capabilities, times the
                 ratio of the saves that were measured on both over the same path
  state size     stall and save scale with the fitted linear transfer, published restores with
                 bytes; both with the cluster's own calibration, where one reaches so far
  calibrated transfer   a restore is the sum of the calibrated paths that it takes
  step time      the stall per save stays, so O = stall / (I t_step) follows
  storage rate   a disk save's stall scales with measured rate / stated rate
  interval       O ~ 1 / I (applied by the optimizer, see candidates.py)
"""
