import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf } from '../errors.js'
import { error, type Finding, type Patient, warning } from './finding.js'

const SOON_MS = 14 * 24 * 3_600_000

/** What the schema cannot say of the settings: files that they name, and what is dangerous together. */
export function checkSettings({ config, nowUs }: Patient): Finding[] {
  const { host, tlsCertFile } = config.server
  const findings: Finding[] = []
  if (tlsCertFile !== undefined) findings.push(...lookAtCertificate(tlsCertFile, nowUs / 1000))
  else if (!/^(?:127\.|::1$|localhost$)/.test(host))
    findings.push(
      warning(
        `server.host is ${host} without TLS: keys and secrets cross the network in the clear`,
        'set server.tlsCertFile and server.tlsKeyFile, or let a proxy speak https and set server.host to 127.0.0.1',
      ),
    )
  return findings
}

function lookAtCertificate(file: string, nowMs: number): Finding[] {
  try {
    const { validToDate } = new X509Certificate(readFileSync(file))
    const leftMs = validToDate.getTime() - nowMs
    const what = `the certificate ${file} ${leftMs < 0 ? 'expired' : 'expires'} at ${validToDate.toISOString()}`
    const advice = 'put a new one there and send SIGHUP'
    if (leftMs < 0) return [error(what, advice)]
    return leftMs < SOON_MS ? [warning(what, advice)] : []
  } catch (thrown) {
    return [error(`the certificate ${file} cannot be read: ${messageOf(thrown)}`, 'mend server.tlsCertFile')]
  }
}
