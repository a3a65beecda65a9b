"""What is lost of the visibilities of the phase centre where it is followed from time slot to time slot, and paths to
antennas differ: phases turn within a slot, and signals that reach two antennas at different times overlap less.
"""

from __future__ import annotations

import math

import numpy as np

from ..observing.antenna_uvw import evaluate_uvw
from ..telescopes import Telescope
from ..utc import dut1
from .trees import Recording

_SPEED_OF_LIGHT_M_S = 299792458.0
_LITTLE = 0.01  # of an amplitude
_TURNS_THAT_LOSE_LITTLE = math.sqrt(6 * _LITTLE) / math.pi


def lost_by_following(
    array: Telescope, phase_centre_rad: np.ndarray, recordings: list[Recording], slot_s: float, n_slot: int
) -> list[str]:
    """Warnings, where that is more than 1 % of the amplitude of any baseline, at the beginning, in the middle or at the
    end."""
    highest_hz = max(max(recording.band().frequency_hz) for recording in recordings)
    begin_s = recordings[0].start_mjd_s + slot_s * np.array([0.0, n_slot // 2, n_slot - 1])
    time_s = np.concatenate([begin_s, begin_s + slot_s])
    w_m = evaluate_uvw(array.ecef_m, array.centre_ecef_m, np.asarray(phase_centre_rad), time_s, dut1(time_s[1]))[..., 2]
    turns = np.ptp(w_m[3:] - w_m[:3], axis=1).max() * highest_hz / _SPEED_OF_LIGHT_M_S
    delay_s = np.ptp(w_m, axis=1).max() / _SPEED_OF_LIGHT_M_S
    warnings = []
    if turns > _TURNS_THAT_LOSE_LITTLE:
        lost = 1 - np.sinc(min(turns, 1.0))
        warnings.append(
            f"the phase centre is followed from time slot to time slot, and within one of {slot_s:g} s its phase turns "
            f"by up to {turns:.2g} turns: the longest baselines lose up to {100 * lost:.2g} % of their amplitude; with "
            f"an integration of {slot_s * _TURNS_THAT_LOSE_LITTLE / turns:.1g} s it would be 1 %"
        )
    loss = max(_lost_by_delay(recording, delay_s) for recording in recordings)
    if loss > _LITTLE:
        width_hz = max(recording.channel_rate_hz for recording in recordings)
        warnings.append(
            f"signals of the phase centre reach antennas up to {delay_s * 1e6:.3g} us apart, no delays are taken out, "
            f"and channels are {width_hz / 1e3:.4g} kHz wide: the longest baselines lose up to {100 * loss:.2g} % of "
            "their amplitude; narrower channels lose less"
        )
    return warnings


def _lost_by_delay(recording: Recording, delay_s: float) -> float:
    """A transform of n samples without a window loses d/n of its amplitude by a delay of d samples, a channel of sharp
    edges what its phases differ by along it, and so do all by a fraction of a sample."""
    part = min(delay_s * recording.channel_rate_hz, 1.0)
    in_samples = delay_s * recording.sample_rate_hz
    is_whole = recording.channels is not None and recording.taps == 1 and in_samples >= 1
    return part if is_whole else 1 - float(np.sinc(part))
