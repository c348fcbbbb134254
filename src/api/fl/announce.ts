import { defineMethod } from '../../rpc/define-method.js'
import type { FlContext } from './context.js'
import { AnnounceParams, AnnounceResult } from './schema.js'

/** Called by gateways before a feedback, so that bytes known to the receiver are not sent. */
export const announceModel = defineMethod({
  name: 'fl.announce',
  summary: 'Registers a feedback whose bytes are stored here, or returns where to send them',
  scope: 'model:write',
  errors: [
    'UNKNOWN_STORE',
    'LOOP',
    'TOO_MANY_UPLOADS',
    'DISK_FULL',
    'BODY_TOO_LARGE',
    'SIGNATURE_REFUSED',
    'BAD_DELTA',
  ],
  params: AnnounceParams,
  result: AnnounceResult,
  async handle(
    { sha256, size, bases, delta },
    { announceUpload, caller }: Pick<FlContext, 'announceUpload' | 'caller'>,
    exact,
  ) {
    const { data } = await exact() // its model_meta is kept as supplied
    const sent = delta && { base: delta.base, sha256: delta.sha256, sizeBytes: delta.size }
    const announced = { sha256, sizeBytes: size, data, ...(bases && { bases }), ...(sent && { delta: sent }) }
    return await announceUpload(announced, caller)
  },
})
