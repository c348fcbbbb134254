import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf } from '../errors.js'
import { readTrustedKeys } from '../models/signature/trusted-keys.js'
import { type CheckContext, error, type Finding, warning } from './finding.js'

/** Time before the expiry of the certificate from which it is a warning: two weeks. */
const SOON_MS = 14 * 24 * 3_600_000

/** Checks settings that the schema cannot check: the certificate, keys of models, and a public address without TLS. */
export function checkSettings(context: CheckContext): Finding[] {
  return [...checkServer(context), ...checkTrustedKeys(context)]
}

/** The gateway does not start with a key that it cannot read. */
function checkTrustedKeys({ config }: CheckContext): Finding[] {
  try {
    readTrustedKeys(config.modelStore.trustedKeys)
    return []
  } catch (thrown) {
    return [error(messageOf(thrown), 'correct modelStore.trustedKeys')]
  }
}

function checkServer({ config, nowUs }: CheckContext): Finding[] {
  const { host, tlsCertFile } = config.server
  if (tlsCertFile !== undefined) return checkCertificate(tlsCertFile, nowUs / 1000)
  if (/^(?:127\.|::1$|localhost$)/.test(host)) return []
  return [
    warning(
      `server.host is ${host} without TLS: keys and secrets cross the network unencrypted`,
      'set server.tlsCertFile and server.tlsKeyFile, or use a reverse proxy with https and set server.host to 127.0.0.1',
    ),
  ]
}

function checkCertificate(file: string, nowMs: number): Finding[] {
  try {
    const { validToDate } = new X509Certificate(readFileSync(file))
    const leftMs = validToDate.getTime() - nowMs
    const what = `the certificate ${file} ${leftMs < 0 ? 'expired' : 'expires'} at ${validToDate.toISOString()}`
    const advice = 'replace it and send SIGHUP'
    if (leftMs < 0) return [error(what, advice)]
    return leftMs < SOON_MS ? [warning(what, advice)] : []
  } catch (thrown) {
    return [
      error(`the certificate ${file} cannot be read: ${messageOf(thrown)}`, 'correct server.tlsCertFile'),
    ]
  }
}
