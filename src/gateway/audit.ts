import type { Caller } from '../auth/caller.js'
import { addressOf, type HttpContext } from '../http/env.js'
import type { LineSampler } from '../http/line-sampler.js'
import type { Log } from '../log.js'

/**
 * Methods whose successful calls are logged, whoever makes them: they open credentials, bring in bytes or run
 * code, change which upstreams this gateway trusts, or delete what cannot be recovered.
 */
const AUDITED_METHODS: ReadonlySet<string> = new Set([
  'session.open_session',
  'session.close_session',
  'session.end_session',
  'dataproc.exec',
  'model_store.model.put',
  'model_store.model.put_aggregated',
  'model_store.model.put_feedback',
  'resumable-upload',
  'dataproc-forwarded',
  'fl.create_upstream_info',
  'fl.update_upstream_info',
  'fl.delete_upstream_info',
  'fl.cancel_transfer',
  'fleet.create_token',
  'fleet.revoke_token',
  'fleet.set_profile',
  'fleet.join',
  'fleet.leave',
  'fleet.revoke',
  'fleet.forget',
  'loaderwebapi.drop_loader',
  'dataset.delete',
  'dataset.citation.delete',
  'model_store.delete',
  'model_store.model.delete',
])

/**
 * Key ids are UUIDs. Any other value of the APIKey header may be a secret in the wrong header and is not
 * logged.
 */
const KEY_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/**
 * Makes the hooks that log refused sign-ins and audited calls, with `audit: true`; never a secret, never
 * params. Refused sign-ins and calls are sampled; the first one beyond the allowance of an address always has a line.
 */
export function auditHooks(log: Log, refusals: LineSampler<'sign-ins' | 'forbidden'>) {
  return {
    onSignInFailure(c: HttpContext, isFirstBeyond: boolean) {
      const keyId = c.req.header('apikey')
      const attempt = {
        audit: true,
        requestId: c.get('requestId'),
        path: c.req.path,
        address: addressOf(c),
        ...(keyId !== undefined && KEY_ID.test(keyId) ? { keyId } : {}),
      }
      if (refusals.allows('sign-ins')) log.warn({ ...attempt, act: 'sign-in-refused' }, 'sign-in refused')
      if (isFirstBeyond)
        log.warn(
          { ...attempt, act: 'sign-in-locked' },
          'too many failed sign-ins of this address: further ones are refused with 429 (limits.signInFailuresPerMinute)',
        )
    },
    onForbidden(c: HttpContext, method: string) {
      if (!refusals.allows('forbidden')) return
      const { keyId, keyName } = c.get('caller') ?? {}
      const requestId = c.get('requestId')
      const address = addressOf(c)
      log.warn(
        { audit: true, act: 'forbidden', requestId, method, path: c.req.path, address, keyId, keyName },
        'call refused: the key lacks the scope',
      )
    },
    onDone(c: HttpContext, { keyId, keyName, sessionId }: Caller, method: string) {
      if (!AUDITED_METHODS.has(method)) return
      const by = { requestId: c.get('requestId'), keyId, keyName, address: addressOf(c) }
      const through = sessionId === null ? {} : { sessionId }
      log.info({ audit: true, act: method, ...by, ...through }, 'audited call')
    },
  }
}
