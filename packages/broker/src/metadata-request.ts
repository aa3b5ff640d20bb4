import { connect } from 'node:net';

const answerWithinMs = 2000;

/**
 * Returns the IDs of the nodes that the node at `address` lists as alive. Returns none if that node belongs to another cluster than
 * `clusterId`. Default: any cluster. Sends a Metadata request of version 2 without topics (Kafka protocol guide, "Messages").
 *
 * Rejects if the node doesn't respond within two seconds, or sends an unreadable response.
 */
export async function knownNodes(address: string, clusterId?: string): Promise<readonly number[]> {
  const [host = '', port = ''] = address.split(':');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port) });
    let read = Buffer.alloc(0);
    const end = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(answerWithinMs, () => end(new Error(`${address} didn't respond.`)));
    socket.on('error', end);
    socket.on('close', () => end(new Error(`${address} closed the connection.`)));
    socket.on('connect', () => socket.write(metadataRequest()));
    socket.on('data', (piece: Buffer) => {
      read = Buffer.concat([read, piece]);
      if (read.length < 4 || read.length < 4 + read.readInt32BE(0)) return;
      try {
        const answer = readAnswer(read);
        resolve(clusterId === undefined || clusterId === answer.clusterId ? answer.nodeIds : []);
        socket.destroy();
      } catch (error) {
        end(new Error(`${address} sent an unreadable response.`, { cause: error }));
      }
    });
  });
}

function metadataRequest(): Buffer {
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + 4);
  request.writeInt32BE(request.length - 4, 0);
  request.writeInt16BE(3, 4);
  request.writeInt16BE(2, 6);
  request.writeInt32BE(1, 8);
  request.writeInt16BE(-1, 12);
  request.writeInt32BE(0, 14);
  return request;
}

/** Reads a Metadata response: length, correlation ID, the brokers (ID, host, port, rack), and the cluster's ID. */
function readAnswer(answer: Buffer): { readonly nodeIds: readonly number[]; readonly clusterId: string } {
  const nodeIds: number[] = [];
  let at = 12;
  for (let left = answer.readInt32BE(8); left > 0; left -= 1) {
    nodeIds.push(answer.readInt32BE(at));
    at += 4;
    at += 2 + answer.readInt16BE(at) + 4;
    at += 2 + Math.max(0, answer.readInt16BE(at));
  }
  const length = Math.max(0, answer.readInt16BE(at));
  return { nodeIds, clusterId: answer.toString('utf8', at + 2, at + 2 + length) };
}
