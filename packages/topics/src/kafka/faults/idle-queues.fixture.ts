import { createRequire } from 'node:module';

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly throttleCheckTimeoutId: NodeJS.Timeout | null;
  scheduleCheckPendingRequests(): void;
}

const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as { readonly prototype: RequestQueue };
const asDelivered = Reflect.get(prototype, 'scheduleCheckPendingRequests');

/**
 * Lets request queues of kafkajs's own clients in this process be idle, like the driver's. Otherwise they use CPU all the time, and Node prints a
 * warning.
 */
export function letQueuesIdle(): void {
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) asDelivered.call(this);
  };
}
