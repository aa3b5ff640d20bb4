import { bearer } from '@headgate/auth';
import { followers } from '@headgate/sources/followers';
import pg from 'pg';
import { postgresSink } from './postgres-sink.ts';

const [screenName = '', baseUrl = '', requests = '15', windowMs = '900000'] = process.argv.slice(2);
// libpq's variables, such as PGHOST, PGUSER and PGDATABASE, name the database.
const client = new pg.Client();
await client.connect();
const limit = { requests: Number(requests), windowMs: Number(windowMs) };
const api = followers({ baseUrl, credentials: [{ name: 'app', signer: bearer(() => process.env['TOKEN'] ?? '') }], limit });
try {
  await postgresSink({ api, screenName, client });
} finally {
  await api.close();
  await client.end();
}
