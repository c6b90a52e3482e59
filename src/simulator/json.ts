// JSON values as the simulated provider holds them, and the deep merge its controls use.
// Promises: merging never changes its arguments and never touches a prototype. No knowledge of any resource here.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

/** True for a plain JSON object: neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * `base` with `patch` laid over it: objects are merged key by key to any depth, everything else, null and arrays
 * included, replaces what was there. Null therefore stays on the wire as a cleared field.
 */
export function merge(base: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (key === '__proto__') continue;
    const before = merged[key];
    merged[key] = isObject(before) && isObject(value) ? merge(before, value) : value;
  }
  return merged;
}

/** `value` without what the dotted `path` names; a path that leads nowhere changes nothing. */
export function without(value: JsonObject, path: string): JsonObject {
  const [head, ...rest] = path.split('.');
  if (head === undefined || !Object.hasOwn(value, head)) return value;
  const copy: JsonObject = { ...value };
  const inner = copy[head];
  if (rest.length === 0) delete copy[head];
  else if (isObject(inner)) copy[head] = without(inner, rest.join('.'));
  return copy;
}
