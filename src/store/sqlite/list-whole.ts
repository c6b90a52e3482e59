/**
 * Change tokens that must not be used any more. Changes since a token do not show what was given up, or is to be published
 * anew, after the token was given.
 */
import type { Context } from './context';

/**
 * The organizations are listed whole by the next sync, also by one that cannot list them now. Listings under way are
 * marked: a token that they were given before is not kept.
 */
export function listWhole({ database }: Context, organizationIds: string[]): void {
  if (organizationIds.length === 0) return;
  database.run(
    `UPDATE listings SET token = NULL, token_asked = ''
     WHERE token_asked IS NOT '' AND organization_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(organizationIds),
  );
}
