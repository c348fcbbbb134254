import type { Caller } from '../auth/caller.js'
import { addressOf, type HttpContext } from '../http/env.js'
import type { Log } from '../log.js'

/**
 * Methods whose calls are told in the log, whoever makes them: they change whom this gateway trusts with its models, or
 * take away what cannot be had back.
 */
export const AUDITED_METHODS: ReadonlySet<string> = new Set([
  'fl.create_upstream_info',
  'fl.update_upstream_info',
  'fl.delete_upstream_info',
  'fl.cancel_transfer',
  'loaderwebapi.drop_loader',
  'dataset.delete',
  'dataset.citation.delete',
  'model_store.delete',
  'model_store.model.delete',
])

/** Key ids are UUIDs. Anything else in that header may be a secret that was put in the wrong place. */
const KEY_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Lines with `audit: true`: refused sign-ins, and calls that somebody may ask about later. Never a secret, never params. */
export function auditHooks(log: Log) {
  return {
    onSignInFailure(c: HttpContext, isLockedOut: boolean) {
      const keyId = c.req.header('apikey')
      const facts = {
        ...{ audit: true, act: 'sign-in-refused', requestId: c.get('requestId') },
        ...{ path: c.req.path, address: addressOf(c) },
        ...(keyId !== undefined && KEY_ID.test(keyId) ? { keyId } : {}),
      }
      log.warn(facts, 'sign-in refused')
      if (isLockedOut)
        log.warn(
          { ...facts, act: 'sign-in-locked' },
          'this address must wait: it failed limits.signInFailuresPerMinute times within a minute',
        )
    },
    onDone({ keyId, keyName }: Caller, requestId: string, method: string) {
      if (AUDITED_METHODS.has(method))
        log.info({ audit: true, act: method, requestId, keyId, keyName }, 'an act that is audited')
    },
  }
}
