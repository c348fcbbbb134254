import { Hono } from 'hono'
import t from 'tap'
import { createRouter } from '../../src/http/router.js'

/** Routes that hono's quicker router refuses: of one place, a word and a parameter. */
function routesOf(app: Hono): Hono {
  app.use(async (c, next) => {
    await next()
    c.res.headers.append('trail', 'frame')
  })
  app.get('/items', (c) => c.text('items'))
  app.post('/items', (c) => c.text('put'))
  app.get('/items/:id', (c) => c.text(`item ${c.req.param('id')}`))
  app.get('/items/all', (c) => c.text('all'))
  app.all('/:any/all', (c) => c.text(`any ${c.req.param('any')}`))
  app.get('/files/*', (c) => c.text('file'))
  return app
}

t.test('router: it finds what that of hono finds, the first time and later', async (t) => {
  const ours = routesOf(new Hono({ router: createRouter() }))
  const theirs = routesOf(new Hono())
  const paths = ['/items', '/items/', '/items/7', '/items/8', '/items/all', '/x/all', '/files/a/b', '/none']
  for (const path of [...paths, ...paths])
    for (const method of ['GET', 'POST', 'HEAD', 'ODD']) {
      const [a, b] = [await ours.request(path, { method }), await theirs.request(path, { method })]
      t.same(
        [a.status, await a.text(), a.headers.get('trail')],
        [b.status, await b.text(), b.headers.get('trail')],
        `${method} ${path}`,
      )
    }
})

t.test('router: it remembers paths of routes alone, and no more methods than a bound', (t) => {
  const router = createRouter<string>()
  router.add('ALL', '/plain', 'plain')
  router.add('GET', '/with/:id', 'with')
  router.add('GET', '/with/all', 'all')
  router.add('GET', '/:any/all', 'any') // of three routes like these the router searches a tree, and makes new results
  t.equal(router.match('GET', '/plain'), router.match('GET', '/plain'))
  t.not(router.match('GET', '/with/1'), router.match('GET', '/with/1'))
  for (let i = 0; i < 300; i++) router.match(`M${i}`, '/plain')
  t.not(router.match('LATE', '/plain'), router.match('LATE', '/plain'))
  t.equal(router.match('GET', '/plain'), router.match('GET', '/plain'))
  t.end()
})
