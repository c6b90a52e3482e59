/**
 * Change tokens that must not be used any more. Changes since a token do not show what was given up, or is to be published
 * anew, after the token was given.
 */
import type { Context } from './context';

/**
 * The organizations are listed whole by the next sync, also by one that cannot list them now. Listings under way are
 * marked: a token that they were given before is not kept.
 */
export async function listWhole({ database }: Context, organizationIds: string[]): Promise<void> {
  if (organizationIds.length === 0) return;
  await database.run(
    `UPDATE listings l SET token = NULL, token_asked = ''
     FROM (SELECT id FROM listings WHERE organization_id = ANY($1::text[]) AND token_asked IS DISTINCT FROM ''
       ORDER BY scope COLLATE "C" FOR NO KEY UPDATE) o WHERE l.id = o.id`,
    organizationIds,
  );
}
