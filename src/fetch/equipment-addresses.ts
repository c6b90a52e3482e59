/**
 * The equipment API's addresses: its base is configured, its records stand below it. Pure.
 */

import { withoutEndSlashes } from '../model/without-end-slashes';

export interface EquipmentAddresses {
  /** True for an address of the equipment API. */
  holds(url: URL): boolean;
  record(id: string): string;
  /** All equipment of an organization. */
  list(organizationId: string): string;
  /** A list below the base: `equipment`, `equipmentMakes`, … */
  collection(name: string): string;
  /** Where an organization's equipment is created. */
  ofOrganization(organizationId: string): string;
}

export function makeEquipmentAddresses(equipmentUrl: string): EquipmentAddresses {
  const { origin, pathname } = new URL(equipmentUrl);
  const base = withoutEndSlashes(pathname);
  return {
    holds: (url) =>
      url.origin === origin &&
      url.pathname.startsWith(base) &&
      (url.pathname.length === base.length || url.pathname[base.length] === '/'),
    list: (organizationId) =>
      `${origin}${base}/equipment?organizationIds=${encodeURIComponent(organizationId)}`,
    collection: (name) => `${origin}${base}/${name}`,
    ofOrganization: (id) => `${origin}${base}/organizations/${encodeURIComponent(id)}/equipment`,
    record: (id) => `${origin}${base}/equipment/${encodeURIComponent(id)}`,
  };
}
