import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf } from '../errors.js'
import { error, type Finding, warning } from './finding.js'

/** Time before the expiry of a certificate from which it is a warning: two weeks. */
const SOON_MS = 14 * 24 * 3_600_000

interface CertificateOptions {
  /** wall clock, µs */
  readonly nowUs: number
  /** advice for a certificate that expires */
  readonly renew: string
  /** advice for a file that cannot be read */
  readonly correct: string
  /** true for a file of authorities: one that is valid is enough */
  readonly isAnyEnough?: boolean
}

/** Checks the certificates of a PEM file: whether they can be read, and when they expire. */
export function checkCertificate(file: string, options: CertificateOptions): Finding[] {
  const { nowUs, renew, correct, isAnyEnough } = options
  try {
    const ends = certificatesOf(readFileSync(file, 'utf8')).map(({ validToDate }) => validToDate.getTime())
    const endMs = isAnyEnough === true ? Math.max(...ends) : Math.min(...ends)
    const leftMs = endMs - nowUs / 1000
    const what = `the certificate ${file} ${leftMs < 0 ? 'expired' : 'expires'} at ${new Date(endMs).toISOString()}`
    if (leftMs < 0) return [error(what, renew)]
    return leftMs < SOON_MS ? [warning(what, renew)] : []
  } catch (thrown) {
    return [error(`the certificate ${file} cannot be read: ${messageOf(thrown)}`, correct)]
  }
}

function certificatesOf(text: string): X509Certificate[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g)
  return (found ?? [text]).map((pem) => new X509Certificate(pem)) // a file without one fails with the reason
}
