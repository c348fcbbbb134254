import { defineMethod } from '../../rpc/define-method.js'
import type { FlContext } from './context.js'
import { AnnounceParams, AnnounceResult } from './schema.js'

/** Called by gateways before a feedback, so that bytes known to the receiver are not sent. */
export const announceModel = defineMethod({
  name: 'fl.announce',
  summary: 'Registers a feedback whose bytes are stored here, or returns where to send them',
  scope: 'model:write',
  errors: ['UNKNOWN_STORE', 'LOOP', 'TOO_MANY_UPLOADS', 'DISK_FULL', 'BODY_TOO_LARGE', 'SIGNATURE_REFUSED'],
  params: AnnounceParams,
  result: AnnounceResult,
  async handle(
    { sha256, size },
    { announceUpload, caller }: Pick<FlContext, 'announceUpload' | 'caller'>,
    exact,
  ) {
    const { data } = await exact() // its model_meta is kept as supplied
    return await announceUpload({ sha256, sizeBytes: size, data }, caller)
  },
})
