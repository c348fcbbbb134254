import type { Hono } from 'hono'
import type { Caller } from '../../auth/caller.js'
import { AppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import { admit, type CallDeps, refusingFaults } from '../calls.js'
import type { HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../refuse-methods.js'
import { type Downloadable, sendFile } from '../send-file.js'

const FLEET_FILE_PATH = '/api/v2/fleet/files/:sha256'

/**
 * Adds `GET /api/v2/fleet/files/<sha256>`: a file of a profile, whole or a range, for gateways that joined.
 *
 * @param find @throws AppError FORBIDDEN, UNKNOWN_DIGEST, FILE_DAMAGED
 */
export function addFleetFileRoute<C>(
  app: Hono<HttpEnv>,
  deps: CallDeps<C>,
  find: (sha256: string, caller: Caller) => Promise<Downloadable>,
): void {
  app.get(FLEET_FILE_PATH, (c) => {
    c.set('countedAs', 'file of a profile')
    return refusingFaults(c, deps, FLEET_FILE_PATH, async () => {
      const caller = await admit(c, deps, 'fleet:member', { other: 'fleet:admin' })
      const sha256 = c.req.param('sha256')
      if (!/^[0-9a-f]{64}$/.test(sha256)) {
        const message = `Path: found ${describeFound(sha256)}, expected a SHA-256 of 64 hex digits`
        throw new AppError('BAD_HTTP', {}, { message })
      }
      const file = await find(sha256, caller)
      return await sendFile(c, deps, { file, fileName: sha256, caller, method: FLEET_FILE_PATH })
    })
  })
  refuseOtherMethods(app, FLEET_FILE_PATH, 'GET, HEAD')
}
