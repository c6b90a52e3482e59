// What the contract leaves open: each a setting with a default, changed while running by a control.
// Promises that only known names and values get in. What a setting means is decided where it is used.
import type { JsonObject } from './json';

export interface Settings {
  /** The list of all field operations of an organization: advertised and refused with 403, as reported, or served. */
  organizationFieldOperations: 'refused' | 'served';
  /** Lists of the platform answer with change tokens. */
  changeTokens: boolean;
  /** An itemLimit above the largest page: cut to it, or 400. */
  aboveMax: 'cut' | 'refused';
}

const KNOWN: Readonly<Record<keyof Settings, readonly (string | boolean)[]>> = {
  organizationFieldOperations: ['refused', 'served'],
  changeTokens: [true, false],
  aboveMax: ['cut', 'refused'],
};

export function defaultSettings(): Settings {
  return { organizationFieldOperations: 'refused', changeTokens: true, aboveMax: 'cut' };
}

/** Lays `change` over the settings. Throws a TypeError that names what is accepted, and changes nothing then. */
export function changeSettings(settings: Settings, change: JsonObject): void {
  for (const [name, value] of Object.entries(change)) {
    const accepted = Object.hasOwn(KNOWN, name) ? KNOWN[name as keyof Settings] : undefined;
    if (!accepted) throw new TypeError(`${name} is not known; ${Object.keys(KNOWN).join(', ')} are`);
    if (!accepted.includes(value as string))
      throw new TypeError(`${name} must be one of ${accepted.map(String).join(', ')}`);
  }
  Object.assign(settings, change);
}
