/**
 * Flags of Node for the released program. A young generation of 1 MB: V8 collects it as soon as twice its size is held by buffers
 * outside its heap, which by default lets tens of megabytes of dead buffers pile up while bytes stream. Peak memory of a gateway
 * that receives 200 MB, and of the one that sends them on: 104 and 117 MB with the flag, 172 and 169 MB without
 * (`npm run crash -- size --sizeBytes 200000000`). There is no cap on the heap: it would apply to the threads too, and end the
 * process instead of the request.
 */
export const NODE_FLAGS = ['--max-semi-space-size=1']

/**
 * Flags for a process of a hub, which the unit of the package hands to the executable: hundreds of requests are under way at
 * the same time, and with 1 MB most of their objects became old before they were answered.
 */
export const HUB_NODE_FLAGS = ['--max-semi-space-size=4']

/** Environment that the unit of the package sets, `scripts/deb/fieldgate.service`: memory that is freed goes back to the system. */
export const UNIT_ENV = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '131072', UV_THREADPOOL_SIZE: '2' }
