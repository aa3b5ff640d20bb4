// Serves the status page of a busy run on a given port, until the process is killed: node serving-process.fixture.ts PORT VERSION
import { systemClock } from '@headgate/throttle';
import { ABOUT } from '../shown-run.fixture.ts';
import { startStatusServer } from '../status-server.ts';
import { busyView } from './busy-view.fixture.ts';

const [port, version = ''] = process.argv.slice(2);
const { url } = await startStatusServer({
  port: Number(port),
  host: '127.0.0.1',
  clock: systemClock(),
  commandFor: (command, argument) => `headgate ${command} ${argument}`,
  view: () => busyView({ changed: { about: { ...ABOUT, version } } }),
});
process.stdout.write(`${url}\n`);
