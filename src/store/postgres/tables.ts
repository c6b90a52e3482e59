/**
 * The tables of the scaled store, but for the list of its migrations: those of a delivery first. What is in them, and what
 * may be done to them, stands elsewhere.
 */

/** What deliveries write to: whoever locks one of them, or takes it or the right to it away, keeps them out. */
export const deliveryTables = ['deliveries', 'organizations', 'tasks', 'aliases', 'hints', 'lanes'];

export const allTables = [
  ...deliveryTables,
  ...['meta', 'reads', 'sequences', 'outbox', 'leases', 'quarantine', 'equipment', 'unclaimed', 'topic_ends'],
  ...['organization_history', 'connections', 'sights', 'consents', 'webhook_secrets', 'alerts', 'conditions'],
  ...['sync_runs', 'listings', 'provider_calls', 'replays', 'replayed'],
];
