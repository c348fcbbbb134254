import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A model with a signature that a program of others made, and what has to be found. */
export interface Vector {
  name: string
  /** PEM text */
  publicKey: string
  /** path below the model → content; the one of a model that is a file is `model.bin` */
  files: Record<string, string>
  isFile: boolean
  bundle: string
  /** `valid`, or the reason of the refusal */
  expected: string
}

const TYPE = 'application/vnd.in-toto+json'
const MEDIA_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json'
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')

/** Makes keys and signs with the `openssl` command. */
function opensslKey(dir: string, curve: string) {
  const file = path.join(dir, `${curve}.pem`)
  const run = (...argv: string[]) => execFileSync('openssl', argv)
  run('ecparam', '-name', curve, '-genkey', '-noout', '-out', file)
  const publicKey = run('ec', '-in', file, '-pubout').toString()
  const hash = { prime256v1: '-sha256', secp384r1: '-sha384', secp521r1: '-sha512' }[curve] ?? '-sha256'
  return {
    publicKey,
    hint: sha256(publicKey),
    sign(bytes: Uint8Array, digest = hash) {
      const input = path.join(dir, 'signed')
      writeFileSync(input, bytes)
      return run('dgst', digest, '-sign', file, input)
    },
  }
}

type Key = ReturnType<typeof opensslKey>
type Change = Record<string, unknown>

/** Text that is signed, written from the description of the format and not with the code under test. */
export function statementOf(files: readonly [name: string, content: string][], change: Change = {}): string {
  const resources = files.map(([name, content]) => ({ name, digest: sha256(content), algorithm: 'sha256' }))
  const root = createHash('sha256')
  for (const { digest } of resources) root.update(Buffer.from(digest, 'hex'))
  return JSON.stringify({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'model', digest: { sha256: root.digest('hex') } }],
    predicateType: 'https://model_signing/signature/v1.0',
    predicate: {
      serialization: { method: 'files', hash_type: 'sha256', allow_symlinks: false },
      resources,
      ...(change.predicate as object),
    },
    ...(change.statement as object),
  })
}

/** The bytes that DSSE signs. */
export function paeOf(statement: string): Buffer {
  return Buffer.from(`DSSEv1 28 ${TYPE} ${Buffer.byteLength(statement)} ${statement}`)
}

/** Puts a bundle together. @param change members that replace those of the bundle and of its envelope */
export function bundleOf(
  statement: string,
  sig: Buffer,
  hint: string | undefined,
  change: Change = {},
): string {
  return JSON.stringify({
    mediaType: MEDIA_TYPE,
    verificationMaterial: { publicKey: { hint }, tlogEntries: [] },
    dsseEnvelope: {
      payload: Buffer.from(statement).toString('base64'),
      payloadType: TYPE,
      signatures: [{ sig: sig.toString('base64'), keyid: '' }],
      ...(change.envelope as object),
    },
    ...(change.bundle as object),
  })
}

const ONE = { 'model.bin': 'weights 1 2 3\n' }
const SEVERAL = { 'b.bin': 'two', 'a.bin': 'one', 'sub/c.bin': 'three' }

/** Makes all vectors, signed by openssl. */
export function makeVectors(): Vector[] {
  const dir = mkdtempSync(path.join(tmpdir(), 'vectors-'))
  try {
    const p256 = opensslKey(dir, 'prime256v1')
    const keys = [p256, opensslKey(dir, 'secp384r1'), opensslKey(dir, 'secp521r1')]
    return [...validVectors(keys), ...refusedVectors(p256, keys[1] as Key)]
  } finally {
    rmSync(dir, { recursive: true })
  }
}

function validVectors(keys: readonly Key[]): Vector[] {
  const one = statementOf([['.', ONE['model.bin']]])
  const named = statementOf(Object.entries(ONE))
  const unsorted = statementOf(Object.entries(SEVERAL))
  const base = { files: ONE, isFile: true, expected: 'valid' }
  return keys.flatMap((key, index): Vector[] => {
    const curve = ['P-256', 'P-384', 'P-521'][index] ?? ''
    const sign = (statement: string) => key.sign(paeOf(statement))
    const { publicKey, hint } = key
    const rawBytes = Buffer.from(publicKey).toString('base64')
    const older = { bundle: { verificationMaterial: { publicKey: { rawBytes, keyDetails: 'PKIX' } } } }
    return [
      { ...base, name: `${curve}: file listed as .`, publicKey, bundle: bundleOf(one, sign(one), hint) },
      { ...base, name: `${curve}: file by its name`, publicKey, bundle: bundleOf(named, sign(named), hint) },
      {
        ...base,
        name: `${curve}: directory, in an order of its own`,
        ...{ publicKey, files: SEVERAL, isFile: false },
        bundle: bundleOf(unsorted, sign(unsorted), hint),
      },
      {
        ...base,
        name: `${curve}: older bundle without a hint`,
        publicKey,
        bundle: bundleOf(one, sign(one), undefined, older),
      },
    ]
  })
}

function refusedVectors(key: Key, other: Key): Vector[] {
  const { publicKey, hint } = key
  const one = statementOf([['.', ONE['model.bin']]])
  const good = key.sign(paeOf(one))
  const base = { publicKey, files: ONE, isFile: true }
  const signed = (
    name: string,
    expected: string,
    statement: string,
    files = ONE as Record<string, string>,
  ) => ({
    ...{ ...base, name, expected, files, isFile: files === ONE },
    bundle: bundleOf(statement, key.sign(paeOf(statement)), hint),
  })
  const changed = (name: string, expected: string, change: Change, sig = good) => ({
    ...{ ...base, name, expected },
    bundle: bundleOf(one, sig, hint, change),
  })
  const rawBytes = Buffer.from(other.publicKey).toString('base64')
  const foreign = { bundle: { verificationMaterial: { publicKey: { rawBytes } } } }
  const several = Object.entries(SEVERAL)
  const sorted = [...several].sort()
  const root = (JSON.parse(statementOf(sorted)) as { subject: unknown }).subject
  return [
    changed('media type of another version', 'media_type', {
      bundle: { mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.2' },
    }),
    { ...changed('a key that is not trusted', 'unknown_key', {}), publicKey: other.publicKey },
    changed('the key came along with the bundle', 'unknown_key', foreign, other.sign(paeOf(one))),
    changed('a certificate instead of a key', 'key_material', {
      bundle: { verificationMaterial: { certificate: { rawBytes: 'AA==' } } },
    }),
    changed('a hint that is no digest', 'key_material', {
      bundle: { verificationMaterial: { publicKey: { hint: 'my-key' } } },
    }),
    changed('the hint names a key that did not sign', 'bad_signature', {}, other.sign(paeOf(one))),
    changed('signed with another hash', 'bad_signature', {}, key.sign(paeOf(one), '-sha512')),
    changed('signed without the encoding', 'bad_signature', {}, key.sign(Buffer.from(one))),
    changed('another payload', 'bad_signature', {
      envelope: { payload: Buffer.from(`${one} `).toString('base64') },
    }),
    changed('another payload type', 'payload_type', { envelope: { payloadType: 'text/plain' } }),
    changed('two signatures', 'signature_count', {
      envelope: { signatures: [{ sig: good.toString('base64') }, { sig: good.toString('base64') }] },
    }),
    changed('no signature', 'signature_count', { envelope: { signatures: [] } }),
    signed('the statement is no JSON', 'bad_statement', 'no json'),
    signed(
      'another statement type',
      'statement_type',
      statementOf([['.', 'x']], { statement: { _type: 'v0' } }),
    ),
    signed(
      'another predicate type',
      'predicate_type',
      statementOf([['.', 'x']], { statement: { predicateType: 'https://slsa.dev/provenance/v1' } }),
    ),
    signed(
      'digests of shards',
      'serialization',
      statementOf([['.', 'x']], { predicate: { serialization: { method: 'shards', hash_type: 'sha256' } } }),
    ),
    signed(
      'the root digest of a sorted list',
      'root_digest',
      statementOf(several, { statement: { subject: root } }),
    ),
    signed('a changed file', 'changed_file', statementOf([['.', 'weights 1 2 4\n']])),
    signed('a missing file', 'missing_file', statementOf([...several, ['d.bin', 'four']]), SEVERAL),
    signed('an unlisted file', 'unlisted_file', statementOf(several.slice(1)), SEVERAL),
    signed('a file outside the model', 'bad_statement', statementOf([['../model.bin', ONE['model.bin']]])),
    signed('a name twice', 'bad_statement', statementOf([...several, ['a.bin', 'one']]), SEVERAL),
    signed('no files', 'bad_statement', statementOf([])),
  ]
}

/** Reads the vectors that are kept in the repository. */
export function keptVectors(file: string): Vector[] {
  return JSON.parse(readFileSync(file, 'utf8'))
}
