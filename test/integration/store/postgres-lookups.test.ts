/**
 * What the statements of the path read on a store that was empty when they were planned: what they are asked for, and never
 * a table that has grown since from end to end.
 */
import type { EquipmentNames } from '../../../src/model/equipment-names';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';

describeWithNeighbour(
  'PostgreSQL',
  postgresAvailable(),
  'statements that were planned on empty tables',
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    test('naming new equipment reads the rows of its names alone, however much is known', async () => {
      const [calls, pieces] = [40, 25];
      const name = await server.createDatabase();
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => Date.UTC(2026));
      for (let call = 0; call < calls; call += 1) {
        const named = Array.from({ length: pieces }, (_, nth): EquipmentNames => {
          const id = `${call}-${nth}`;
          return {
            side: 'new',
            id,
            organizationId: '4711',
            principalId: `p${id}`,
            erid: null,
            serialNumber: `s${id}`,
          };
        });
        await store.nameEquipment(named);
      }
      // What a session has read is told when it ends.
      await store.close();
      const [read] = await server.query(
        `SELECT n_tup_ins::int AS added, idx_tup_fetch::int + seq_tup_read::int AS looked_at
       FROM pg_stat_user_tables WHERE relname = 'equipment'`,
        name,
      );
      expect(read!.added).toBe(calls * pieces);
      expect(read!.looked_at).toBeLessThan(3 * calls * pieces);
    });
  },
);
