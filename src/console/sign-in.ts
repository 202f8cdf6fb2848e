import { session } from './api.ts'
import { field, tick, valuesIn } from './dialog.ts'
import { h } from './dom.ts'

/** A form that asks for a key. `open` opens the console with it, and rejects if the server refuses it. */
export const signInForm = (why: string, open: (key: string, isKept: boolean) => Promise<void>) => {
  const problem = h('p.bad', { role: 'alert' }, why)
  const key = field('API key', 'key', { type: 'password', required: true, placeholder: 'pp_…' })
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault()
    const values = valuesIn(form)
    try {
      await open(values['key']?.trim() ?? '', values['keep'] === 'on')
    } catch (error) {
      session.close()
      problem.textContent = (error as Error).message
      key.querySelector('input')?.select()
    }
  }
  const form: HTMLFormElement = h(
    'form',
    { onsubmit: enter },
    h('h1', 'prospect-pages'),
    h('p.muted', 'See what arrives, from whom, what is published, and what needs attention.'),
    key,
    tick('keep', 'Keep the key in this tab until I close it'),
    problem,
    h('button.primary', 'Open the console'),
    h(
      'details',
      h('summary', 'I have no key'),
      h('p', 'Run these on the server. The second prints a link that opens the console.'),
      h('pre', 'prospect-pages tenants list\nprospect-pages console --tenant T --write'),
    ),
  )
  return h('main.sign-in', form)
}
