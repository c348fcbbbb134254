import { messageOf } from '../errors.js'
import { readTrustedKeys } from '../models/signature/trusted-keys.js'
import { checkCertificate } from './certificate.js'
import { type CheckContext, error, type Finding, warning } from './finding.js'

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
  if (tlsCertFile !== undefined) {
    const advice = { renew: 'replace it and send SIGHUP', correct: 'correct server.tlsCertFile' }
    return checkCertificate(tlsCertFile, { nowUs, ...advice })
  }
  if (/^(?:127\.|::1$|localhost$)/.test(host)) return []
  return [
    warning(
      `server.host is ${host} without TLS: keys and secrets cross the network unencrypted`,
      'set server.tlsCertFile and server.tlsKeyFile, or use a reverse proxy with https and set server.host to 127.0.0.1',
    ),
  ]
}
