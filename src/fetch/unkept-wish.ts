/**
 * What was wished for a piece of equipment against what the provider shows of it afterwards: a success that changes
 * nothing is told as such. Pure.
 */
import type { EquipmentWish } from '../model/provider-data';

/** What is shown otherwise than wished, in words; null when everything is as wished, or nothing was. */
export function unkeptWish(wish: EquipmentWish, body: unknown): string | null {
  const shown = (body ?? {}) as Record<string, unknown>;
  const unkept: string[] = [];
  const category = String(shown['@type']).toLowerCase();
  if (wish.category !== null && category !== wish.category) {
    unkept.push(`category ${category} instead of ${wish.category}`);
  }
  for (const [name, words] of [
    ['name', 'name'],
    ['serialNumber', 'serial number'],
  ] as const) {
    const wished = wish[name];
    if (wished === null || textOf(shown[name])?.trim() === wished.trim()) continue;
    const instead = textOf(shown[name]);
    unkept.push(`${instead === null ? `no ${words}` : `${words} "${instead}"`} instead of "${wished}"`);
  }
  for (const name of ['make', 'type', 'model'] as const) {
    const id = wish[`${name}Id`];
    if (id === null || isReferenceTo(shown[name], id)) continue;
    const instead = textOf((singleOf(shown[name]) as { id?: unknown } | null | undefined)?.id);
    unkept.push(`${instead === null ? `no ${name}` : `${name} ${instead}`} instead of ${id}`);
  }
  return unkept.length === 0 ? null : unkept.join(', ');
}

/** True for a make, type or model that goes by that id or ERID. */
export function isReferenceTo(reference: unknown, id: string): boolean {
  const { id: own, ERID } = (singleOf(reference) ?? {}) as { id?: unknown; ERID?: unknown };
  return textOf(own) === id || textOf(ERID) === id;
}

/** Some records wrap what is one thing in a list. */
export function singleOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}
