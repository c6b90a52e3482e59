/**
 * What is asked for together with a resource, so that one call reads it whole: measurement types with a field operation,
 * devices and paired equipment with equipment. Pure.
 */

export const equipmentEmbeds = ['devices', 'equipment'];
/** Devices by the name of the machine and implement endpoints, which know no embed for what is paired. */
export const oldEquipmentEmbeds = ['terminals'];
export const fieldOperationEmbeds = ['measurementTypes'];

/** Adds the embeds that the address does not name yet; changes and returns it. */
export function withEmbeds(url: URL, embeds: readonly string[]): URL {
  if (url.search === '') {
    url.search = `?embed=${embeds.join(',')}`;
    return url;
  }
  const named = url.searchParams.getAll('embed').flatMap((value) => value.split(','));
  if (named.length === 0) url.search += `&embed=${embeds.join(',')}`;
  else if (!embeds.every((embed) => named.includes(embed))) {
    url.searchParams.set('embed', [...new Set([...named, ...embeds])].join(','));
  }
  return url;
}
