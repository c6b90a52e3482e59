/**
 * The numbers of the advisory locks that this version takes in a database. Each is one thing's alone; no number is given to
 * another thing later, since an older version may run beside this one.
 */

export const lockNumbers = {
  migration: 7_126_001,
  claim: 7_126_002,
  /** Verbs that change connections or what they see. */
  connections: 7_126_003,
  sweep: 7_126_004,
  equipmentNames: 7_126_005,
  move: 7_126_006,
} as const;
