-- Fails a statement whose assumption does not hold, so that nothing of it is saved. PP001 is an error code of our own. Only
-- the last line ends with a semicolon: a migration is sent statement by statement.
create function required(assumption boolean) returns boolean language plpgsql immutable as $$ begin
  if assumption then return true; end if; raise exception
    'An assumption of this write does not hold. Nothing was saved.' using errcode = 'PP001'; end $$;
