import { createRequire } from 'node:module';

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly throttleCheckTimeoutId: NodeJS.Timeout | null;
  scheduleCheckPendingRequests(): void;
}

const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as { readonly prototype: RequestQueue };
const asDelivered = Reflect.get(prototype, 'scheduleCheckPendingRequests');

/** Lets connections of kafkajs's own clients be idle in this process, as the driver's are: as delivered they take CPU all the time, and Node warns of it. */
export function letQueuesIdle(): void {
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) asDelivered.call(this);
  };
}
