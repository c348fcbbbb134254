// Stands in for the global Response in the bundle, see `LATE_FETCH` in slim-packages.mjs.
export { LightResponse as Response } from '@hono/node-server'
