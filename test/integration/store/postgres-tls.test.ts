/**
 * Over TLS a server is who its address names, whatever word of libpq asks for it, and nothing is printed about that word.
 * Method: a real server with a certificate for localhost, of an authority that only this test knows.
 */
import { chownSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { BoundedClient } from '../../../src/store/postgres/server/client';
import { poolConfig } from '../../../src/store/postgres/server/database';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { makeAuthority } from '../../support/certificates';
import { describeWithNeighbour } from '../../support/neighbour';
import {
  type PostgresServer,
  postgresAvailable,
  serverIdentity,
  startPostgres,
} from '../../support/postgres';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'a server that is reached over TLS', () => {
  let folder: string;
  let server: PostgresServer;
  let database: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tramline-tls-'));
    const authority = makeAuthority();
    const { cert, key } = authority.issue({ names: ['localhost'] });
    const { uid, gid } = serverIdentity();
    for (const [name, text] of Object.entries({
      'ca.pem': authority.cert,
      'server.pem': cert,
      'server.key': key,
    })) {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      chownSync(join(folder, name), uid, gid);
    }
    chownSync(folder, uid, gid);
    server = await startPostgres({
      settings: {
        ssl: 'on',
        ssl_cert_file: join(folder, 'server.pem'),
        ssl_key_file: join(folder, 'server.key'),
      },
    });
    database = await server.createDatabase();
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  const urlOf = (host: string, query: string) => {
    const url = new URL(server.url(database));
    url.hostname = host;
    url.search = query;
    return url.href;
  };
  const open = (host: string, query: string) => openPostgres(postgresSettingsFor(urlOf(host, query)));
  const root = () => `sslrootcert=${join(folder, 'ca.pem')}`;

  test.each(['prefer', 'require', 'verify-ca', 'verify-full'])(
    'with sslmode=%s its certificate is verified',
    async (mode) => {
      const warned = jest.spyOn(process, 'emitWarning');
      await (await open('localhost', `sslmode=${mode}&${root()}`)).close();
      await expect(open('127.0.0.1', `sslmode=${mode}&${root()}`)).rejects.toMatchObject({
        message: expect.stringContaining("does not match certificate's altnames"),
      });
      await expect(open('localhost', `sslmode=${mode}`)).rejects.toMatchObject({
        message: expect.stringMatching(
          /^(self-signed certificate[^;]*|unable to verify[^;]*); `sslrootcert=.* the server's certificate$/,
        ),
      });
      expect(warned).not.toHaveBeenCalled();
      warned.mockRestore();
    },
  );

  test('an authority whose file is away is the one that it named before, and one that was never there is refused', async () => {
    const copy = join(folder, 'copy.pem');
    const open = async () => {
      const client = new BoundedClient(
        poolConfig({ url: urlOf('localhost', `sslrootcert=${copy}`), connections: 1 }),
      );
      await client.connect();
      const { rows } = await client.query('SELECT 1 AS one');
      await client.end();
      return rows;
    };
    await expect(open()).rejects.toMatchObject({ code: 'ENOENT' });
    copyFileSync(join(folder, 'ca.pem'), copy);
    await expect(open()).resolves.toEqual([{ one: 1 }]);
    rmSync(copy);
    await expect(open()).resolves.toEqual([{ one: 1 }]);
    writeFileSync(copy, makeAuthority().cert);
    await expect(open()).rejects.toThrow('certificate');
  });

  test('with sslmode=no-verify it is not, and with disable nothing is hidden', async () => {
    for (const mode of ['no-verify', 'disable']) await (await open('127.0.0.1', `sslmode=${mode}`)).close();
  });
});
