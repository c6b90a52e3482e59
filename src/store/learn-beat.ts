/**
 * The time between heartbeats, as learned from those that came, and how far it is to be believed. Pure; both stores use it.
 */

export interface Beat {
  /** null before the second heartbeat. */
  beatMs: number | null;
  /** How many gaps in a row spoke for it. */
  agreed: number;
}

/** So many gaps that agree are no accident: a heartbeat that is sent again shortly after makes a gap of its own. */
const agreedMin = 3;

/** What of it may be acted upon; null: not enough gaps agree. */
export function believedBeat({ beatMs, agreed }: Beat): number | null {
  return agreed >= agreedMin ? beatMs : null;
}

/**
 * `gapMs` since the one before. Until it is believed, a gap of more than twice the length begins anew, and a short one
 * speaks against it. What is believed follows the usual gap; one that is much longer was a silence, and moves it only by
 * doubling, so that an outage is no lesson; one that is much shorter was sent twice, and hardly moves it.
 */
export function learnBeat({ beatMs, agreed }: Beat, gapMs: number): Beat {
  const gap = Math.max(1, gapMs);
  if (beatMs === null) return { beatMs: gap, agreed: 1 };
  if (agreed < agreedMin) {
    if (gap > beatMs * 2) return { beatMs: gap, agreed: 1 };
    if (gap * 2 < beatMs) return { beatMs: Math.ceil(beatMs / 2), agreed };
    return { beatMs: Math.max(beatMs, gap), agreed: agreed + 1 };
  }
  if (gap > beatMs * 4) return { beatMs: beatMs * 2, agreed };
  if (gap < beatMs / 8) return { beatMs: Math.max(1, beatMs - Math.ceil(beatMs / 16)), agreed };
  return { beatMs: Math.max(1, Math.round((beatMs * 3 + gap) / 4)), agreed };
}
