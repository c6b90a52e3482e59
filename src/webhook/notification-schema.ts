/**
 * The shape of a notification as the provider posts it, as far as Tramline depends on it; what it does not know it lets
 * pass. No meaning: that is the judge's.
 */
import { z } from 'zod';
import { addressBytesMax, isAddressBounded } from '../model/address-bytes';
import { withoutUserInfo } from '../model/without-user-info';

/** Text that every store can hold: PostgreSQL takes no NUL, and UTF-8 no lone surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

const storable = (lengthMax: number) =>
  z.string().min(1).max(lengthMax).refine(isStorable, { error: 'holds NUL or a lone surrogate' });

const eventTypeIdSchema = storable(256);

/** What is kept of one that holds user info is longer. */
const isBounded = (address: string) =>
  isAddressBounded(address) && isAddressBounded(withoutUserInfo(address));

/** Of the resource that changed. */
export const addressSchema = storable(addressBytesMax).refine(isBounded, { error: 'is too long' });
export const organizationIdSchema = storable(128);

/** `orgId` names the organization, by a string or by a whole number; the other keys depend on the event type. */
const metadataSchema = z.array(z.object({ key: z.string(), value: z.unknown().optional() }));

/** A notification of a resource: what must be there so that it can be read. */
export const notificationSchema = z.object({
  eventTypeId: eventTypeIdSchema,
  targetResource: addressSchema,
  metadata: metadataSchema,
  clientKey: z.string().optional(),
  /** As given when the subscription was created. */
  token: z.string().optional(),
  links: z.array(z.unknown()).optional(),
});

/** A Required Customer Action: the organization stands in `metadata.orgId` or is the target. */
export const requiredActionSchema = z.object({
  eventTypeId: eventTypeIdSchema,
  targetResource: addressSchema.optional(),
  metadata: metadataSchema.optional(),
});

/** Any notification, of known and unknown types, verification and heartbeat included. */
export const anyNotificationSchema = z.object({ eventTypeId: eventTypeIdSchema });

export type Metadata = z.infer<typeof metadataSchema>;
