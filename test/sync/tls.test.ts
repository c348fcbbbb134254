import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import t from 'tap'
import { connect, LOCAL_SYNC, modelsOf, putModel, transfersOf, until } from '../support/models.js'
import { startGateway } from '../support/start-gateway.js'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

t.test(
  'tls: an upstream is trusted by its private authority, and by nothing less',
  { skip: hasOpenssl ? false : 'openssl is not on this machine' },
  async (t) => {
    const dir = t.testdir()
    const [certFile, keyFile] = [path.join(dir, 'cert.pem'), path.join(dir, 'key.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const made = spawnSync('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '30',
      ],
      ...['-keyout', keyFile, '-out', certFile, ...subject],
    ])
    t.equal(made.status, 0, String(made.stderr))
    const upstream = await startGateway(t, {
      dataDir: path.join(dir, 'up'),
      settings: { server: { tlsCertFile: certFile, tlsKeyFile: keyFile } },
    })
    const { port } = new URL(upstream.url)
    const reached = async (name: string, sync: object, host: string) => {
      const settings = { sync: { ...LOCAL_SYNC, allowInsecure: [], ...sync } }
      const edge = await startGateway(t, { dataDir: path.join(dir, name), settings })
      await connect(edge, { url: `https://${host}:${port}`, admin: upstream.admin })
      await putModel(edge, randomBytes(1000))
      await until(
        'it was tried',
        async () =>
          (await transfersOf(edge))[0].last_error !== null ||
          (await transfersOf(edge))[0].state === 'delivered',
      )
      return (await transfersOf(edge))[0]
    }
    t.match((await reached('stranger', {}, 'localhost')).last_error, /certificate/i)
    t.match(
      (await reached('wrong-name', { caFile: certFile }, '127.0.0.1')).last_error,
      /altnames|certificate/i,
    )
    const trusted = await reached('trusted', { caFile: certFile }, 'localhost')
    t.equal(trusted.state, 'delivered', trusted.last_error)
    t.equal((await fetchModels()).length, 1)

    /** The helper's own fetch does not know the certificate. */
    async function fetchModels() {
      const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
      try {
        return await modelsOf(upstream)
      } finally {
        if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
        else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
      }
    }
  },
)
