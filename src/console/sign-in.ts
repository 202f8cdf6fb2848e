import { session } from './api.ts'
import { type Child, h } from './dom.ts'

/** Asks for a key, and returns to the same place. */
export const signInForm = (
  why: string,
  open: (key: string, isKept: boolean) => Promise<void>,
): HTMLElement => {
  const problem = h('p.bad', { role: 'alert' }, why)
  const key = h('input', {
    name: 'key',
    type: 'password',
    autocomplete: 'off',
    required: true,
    spellcheck: 'false',
    placeholder: 'pp_…',
  })
  const keep = h('input', { name: 'keep', type: 'checkbox' })
  const enter = (event: Event) => {
    event.preventDefault()
    void open(key.value.trim(), keep.checked).catch((error) => {
      session.close()
      problem.textContent = (error as Error).message
      key.select()
    })
  }
  const form = h(
    'form',
    { onsubmit: enter },
    h('h1', {}, 'prospect-pages'),
    h('p.muted', {}, 'See what arrives, from whom, what is published, and what needs attention.'),
    h('label', {}, 'API key', key),
    h('label.check', {}, keep, 'Keep the key in this tab until I close it'),
    problem,
    h('button.primary', {}, 'Open the console'),
    h(
      'details',
      {},
      h('summary', {}, 'I have no key'),
      h('p', {}, 'Run these on the server. The second prints a link that opens the console.'),
      h('pre', {}, 'prospect-pages tenants list\nprospect-pages console --tenant T --write'),
    ),
  )
  return h('main.sign-in', {}, form)
}

/** The content of a view whose scope the key lacks. */
export const lacking = (title: string, scope: string): Child => [
  h('header', {}, h('h1', {}, title)),
  h(
    'section.card',
    {},
    h('p', {}, 'Your key lacks the scope ', h('code', {}, scope), '.'),
    h('p.muted', {}, 'The operator of the server can open one with more scopes:'),
    h('pre', {}, session.command()),
  ),
]
