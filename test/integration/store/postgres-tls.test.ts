/**
 * Over TLS a server is who its address names, whatever word of libpq asks for it, and nothing is printed about that word.
 * Method: a real server with a certificate for localhost, of an authority that only this test knows.
 */
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
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

  const open = (host: string, query: string) => {
    const url = new URL(server.url(database));
    url.hostname = host;
    url.search = query;
    return openPostgres(postgresSettingsFor(url.href));
  };
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

  test('with sslmode=no-verify it is not, and with disable nothing is hidden', async () => {
    for (const mode of ['no-verify', 'disable']) await (await open('127.0.0.1', `sslmode=${mode}`)).close();
  });
});
