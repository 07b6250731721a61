"""Studies on top of sweeps: how far any estimator is from the optimum, and how long a learner is held up.

- :mod:`~widthwise.studies.yardstick`: estimators on data of a problem, beside the optimum;
  :mod:`~widthwise.studies.estimators` has the ready-made ones, :mod:`~widthwise.studies.leaderboard` keeps
  their rows.
- :mod:`~widthwise.studies.hardness`: times to leave the universal branch against d, with
  :mod:`~widthwise.studies.survival` for runs that never did.
- :mod:`~widthwise.studies.width`: students of several widths, beside the effective width;
  :mod:`~widthwise.studies.feature_hmc`: HMC from the features that the theory predicts.
- :mod:`~widthwise.studies.input_study`: learners on data, beside Gaussian inputs of the same covariance.
- :mod:`~widthwise.studies.published`: what others measured, and runs of our own that come with the package.
"""
