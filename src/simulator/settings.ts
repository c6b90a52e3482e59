// What the contract leaves open: each a setting with a default, changed while running by a control.
// Promises that only known names and values get in. What a setting means is decided where it is used.
import type { JsonObject } from './json';

export interface Settings {
  /** The list of all field operations of an organization: advertised and refused with 403, as reported, or served. */
  organizationFieldOperations: 'refused' | 'served';
  /** The catalog of a user leads to the user's own record. */
  currentUser: boolean;
  /** Lists of the platform answer with change tokens. */
  changeTokens: boolean;
  /** An itemLimit above the largest page: cut to it, or 400. */
  aboveMax: 'cut' | 'refused';
  /** What a PUT of equipment leaves out stays, or is taken away. */
  equipmentPut: 'merged' | 'replaced';
  /** What creating a subscription answers: documents say 200, clients have seen 201. */
  createdStatus: 200 | 201;
  heartbeats: boolean;
  /** For so long after a change of the delivery settings the old ones are still used. */
  rotationLagMs: number;
  /** A subscription expires after so many refused deliveries in a row; 0 = never. */
  expireAfterFailures: number;
  /** Equipment that a client created is seen after so long. */
  createdLagMs: number;
  /** Flood protection for the client key; 0 = none. */
  callsPerSecond: number;
  retryAfterSeconds: number;
  /** As each API documents its errors, or one shape for all; `text` and `empty` occur as well. */
  errorBodies: 'documented' | 'errors' | 'list' | 'gud' | 'text' | 'empty';
}

/** The accepted values, or the largest number. */
const KNOWN: Readonly<Record<keyof Settings, readonly (string | boolean | number)[] | number>> = {
  organizationFieldOperations: ['refused', 'served'],
  currentUser: [true, false],
  changeTokens: [true, false],
  aboveMax: ['cut', 'refused'],
  equipmentPut: ['merged', 'replaced'],
  createdStatus: [200, 201],
  heartbeats: [true, false],
  rotationLagMs: 600_000,
  expireAfterFailures: 1_000_000,
  createdLagMs: 600_000,
  callsPerSecond: 1_000_000,
  retryAfterSeconds: 1_000_000,
  errorBodies: ['documented', 'errors', 'list', 'gud', 'text', 'empty'],
};

export function defaultSettings(): Settings {
  return {
    organizationFieldOperations: 'refused',
    currentUser: true,
    changeTokens: true,
    aboveMax: 'cut',
    equipmentPut: 'merged',
    createdStatus: 201,
    heartbeats: true,
    rotationLagMs: 0,
    expireAfterFailures: 100,
    createdLagMs: 0,
    callsPerSecond: 0,
    retryAfterSeconds: 1,
    errorBodies: 'documented',
  };
}

/** Lays `change` over the settings. Throws a TypeError that names what is accepted, and changes nothing then. */
export function changeSettings(settings: Settings, change: JsonObject): void {
  for (const [name, value] of Object.entries(change)) {
    const accepted = Object.hasOwn(KNOWN, name) ? KNOWN[name as keyof Settings] : undefined;
    if (accepted === undefined)
      throw new TypeError(`${name} is not known; ${Object.keys(KNOWN).join(', ')} are`);
    if (typeof accepted === 'number') {
      if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= accepted) continue;
      throw new TypeError(`${name} must be a whole number from 0 to ${accepted}`);
    }
    if (!accepted.includes(value as string))
      throw new TypeError(`${name} must be one of ${accepted.map(String).join(', ')}`);
  }
  Object.assign(settings, change);
}
