/**
 * What is set aside, in groups of what has to be looked at in the same way: each is one page, with its owner. Tables only.
 */
import type { Owner } from '../model/alert';
import type { QuarantineReason } from '../model/notification';

/** What waits for an operator, by what has to be looked at. */
export type QuarantineGroup =
  | 'access'
  | 'delivery'
  | 'disappearance'
  | 'document'
  | 'publish'
  | 'sender'
  | 'other';

/** Who is behind a quarantined thing: its owner and what the group is about. */
export const quarantineGroups: Record<QuarantineGroup, { owner: Owner; about: string }> = {
  access: { owner: 'customer-success', about: 'resources that no connection of theirs may read' },
  delivery: { owner: 'platform', about: 'deliveries or notifications that cannot be understood' },
  disappearance: { owner: 'on-call', about: 'an organization that lost many resources at once' },
  document: { owner: 'platform', about: 'resources whose reads or documents cannot be trusted' },
  publish: { owner: 'platform', about: 'records that Kafka does not take' },
  sender: {
    owner: 'on-call',
    about: 'notifications or listed entries whose sender or address is not to be trusted',
  },
  other: { owner: 'platform', about: 'things with a reason that this version does not know' },
};

export const quarantineGroupOf: Record<QuarantineReason, QuarantineGroup> = {
  unauthenticated: 'sender',
  'message-id-reused': 'sender',
  'address-refused': 'sender',
  'malformed-notification': 'delivery',
  'repeated-member': 'delivery',
  'malformed-body': 'delivery',
  'store-refused': 'delivery',
  'no-connection': 'access',
  'organization-mismatch': 'access',
  'no-access': 'access',
  'address-template': 'document',
  'request-refused': 'document',
  'never-readable': 'document',
  'malformed-document': 'document',
  'mass-disappearance': 'disappearance',
  'record-too-large': 'publish',
  'record-refused': 'publish',
};
