// What the provider holds, in the words of an event, by code that is not the product's: enough facts of each kind that a
// stale or mixed-up document cannot pass. Pure.

type Content = Record<string, unknown>;

/** Facts of a resource by name; undefined where the provider says nothing. */
export type Facts = Record<string, unknown>;

/** Of the provider's record of a machine or an implement, which wraps references in lists or does not. */
export function equipmentTruth(content: Content): Facts {
  return {
    id: textOf(content.id),
    organizationId: textOf(alone(content.organization)?.id),
    category: String(content['@type']).toLowerCase(),
    name: content.name,
    serialNumber: content.serialNumber,
    modelYear: content.modelYear,
    make: alone(content.make)?.name,
    type: alone(content.type)?.name,
    model: alone(content.model)?.name,
  };
}

/** Of the provider's record of a field operation with its measurements. */
export function fieldOperationTruth(content: Content): Facts {
  return {
    id: textOf(content.id),
    organizationId: textOf(content.orgId),
    fieldOperationType: content.fieldOperationType,
    cropSeason: textOf(content.cropSeason),
    modifiedTime: content.modifiedTime,
    products: namesOf(content.products, 'name'),
    measurements: namesOf(content.measurementTypes, 'measurementName'),
  };
}

/** The same facts of a published document. */
export function equipmentFacts(document: Content): Facts {
  return {
    id: document.id,
    organizationId: document.organizationId,
    category: document.category,
    name: document.name,
    serialNumber: document.serialNumber,
    modelYear: document.modelYear,
    make: alone(document.make)?.name,
    type: alone(document.type)?.name,
    model: alone(document.model)?.name,
  };
}

export function fieldOperationFacts(document: Content): Facts {
  return {
    id: document.id,
    organizationId: document.organizationId,
    fieldOperationType: document.fieldOperationType,
    cropSeason: document.cropSeason,
    modifiedTime: document.modifiedTime,
    products: namesOf(document.products, 'name'),
    measurements: namesOf(document.measurements, 'name'),
  };
}

/** The first fact in which they differ, as text; null when they agree. */
export function firstDifference(truth: Facts, published: Facts): string | null {
  for (const [name, value] of Object.entries(truth)) {
    const [there, here] = [JSON.stringify(value), JSON.stringify(published[name])];
    if (there !== here) return `${name} is ${here}, the provider has ${there}`;
  }
  return null;
}

function alone(value: unknown): Content | undefined {
  const [one] = Array.isArray(value) ? value : [value];
  return typeof one === 'object' && one !== null ? (one as Content) : undefined;
}

function textOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : String(value);
}

/** Sorted, since their order says nothing. */
function namesOf(value: unknown, key: string): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((entry) => String((entry as Content)[key])).sort();
}
