import type { Hono } from 'hono'
import { respond } from '../answer.js'
import { admit, type CallDeps, refusingFaults } from '../calls.js'
import type { HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../refuse-methods.js'

/** A signature as it is sent. */
interface SentSignature {
  /** JSON text */
  bundle: string
  mediaType: string
}

const SIGNATURE_PATH = '/api/v2/model_store/models/:model_id/signature'

/**
 * Adds `GET …/models/<model_id>/signature`: the signature bundle of a model, as it was supplied.
 *
 * @param find @throws AppError UNKNOWN_MODEL, NOT_FOUND for an unsigned model
 */
export function addSignatureRoute<C>(
  app: Hono<HttpEnv>,
  deps: CallDeps<C>,
  find: (modelId: string) => Promise<SentSignature>,
): void {
  app.get(SIGNATURE_PATH, (c) => {
    c.set('countedAs', 'model signature')
    return refusingFaults(c, deps, SIGNATURE_PATH, async () => {
      await admit(c, deps, 'model:read')
      const modelId = c.req.param('model_id')
      const { bundle, mediaType } = await find(modelId)
      const headers = {
        'Content-Type': mediaType,
        'Content-Disposition': `attachment; filename="${modelId}.sig"`,
        'Cache-Control': 'private, no-cache',
      }
      return respond(c.get('requestId'), 200, headers, bundle)
    })
  })
  refuseOtherMethods(app, SIGNATURE_PATH, 'GET, HEAD')
}
