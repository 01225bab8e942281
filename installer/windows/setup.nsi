; Convalesce's Setup.exe: made by nsis.py, which defines VERSION, OUTPUT, FROZEN (the folder with both programs), FILES (the
; list of what is installed), ICON, SIDE (a bitmap for the last page) and perhaps
; SIGN (a program that signs) and FAST (packed less tightly, for tests).
;
;   /S             silent, for software distribution     /D=FOLDER   where to (the last one, without quotes)
;   /ALLUSERS      for everybody; needs an administrator  /DESKTOP    a link on the desktop
;   /PATH          the folder on PATH, so that every new prompt knows the command
; Exit status: 0 done, 2 aborted, 32 a running program could not be closed, 183 the folder is in use for something
; else, 216 this Windows has 32 bits, 740 an administrator is needed, 1638 the MSI has it for everybody. SYSTEM installs for
; everybody.
; uninstall.exe: /S, /UNDO (takes back what Convalesce changed), /REMOVEHISTORY (the journal, too). With _?=FOLDER at the end
; of the command line, as Windows' list of programs has it, it stays until all but its own file is gone and answers 0, 2, 32
; or 740; without, a copy of it goes on alone.

Unicode true
Target ${STUB}
!include MUI2.nsh
!include LogicLib.nsh
!include FileFunc.nsh
!include nsDialogs.nsh
!include x64.nsh

!define NAME "Convalesce"
!define WINDOW "convalesce-gui.exe"
!define TERMINAL "convalesce.exe"
!define INSTALLED "Software\Microsoft\Windows\CurrentVersion\Uninstall\Convalesce"
!define APP_PATHS "Software\Microsoft\Windows\CurrentVersion\App Paths"
!define BY_MSI "Software\convalesce"
!define IN_USE 32
!define OCCUPIED 183
!define ADMINISTRATOR_NEEDED 740
!define OTHER_MACHINE 216
!define MSI_IS_THERE 1638

Name "${NAME}"
OutFile "${OUTPUT}"
BrandingText "${NAME} ${VERSION}"

RequestExecutionLevel user
ManifestSupportedOS Win10
ManifestDPIAware true
ManifestDPIAwareness "PerMonitorV2,System"
ManifestLongPathAware true
!ifdef FAST
  SetCompressor zlib
!else
  SetCompressor /SOLID lzma
  SetCompressorDictSize 32
!endif
AllowSkipFiles off
ShowInstDetails nevershow
ShowUninstDetails nevershow

VIProductVersion "${VERSION}.0"
VIFileVersion "${VERSION}.0"
VIAddVersionKey /LANG=0 "ProductName" "${NAME}"
VIAddVersionKey /LANG=0 "ProductVersion" "${VERSION}"
VIAddVersionKey /LANG=0 "FileVersion" "${VERSION}"
VIAddVersionKey /LANG=0 "FileDescription" "${NAME} Setup"
VIAddVersionKey /LANG=0 "CompanyName" "The Convalesce project"
VIAddVersionKey /LANG=0 "LegalCopyright" "The Convalesce project. Apache License 2.0"

!ifdef SIGN
  !uninstfinalize '"${SIGN}" "%1"' = 0
  !finalize '"${SIGN}" "%1"' = 0
!endif

Var Everybody     ; "1": for all users
Var OnDesktop     ; "1": a link on the desktop
Var OnPath        ; "1": the folder on PATH
Var PathBox
Var Whose         ; whose PATH: "user" or "machine"
Var FolderGiven   ; /D= named the folder
Var TakeBack      ; "1": undo what Convalesce changed
Var Forget        ; "1": remove the journal
Var Changes       ; what still holds of what Convalesce changed
Var Others        ; other accounts with a history of changes
Var Control
Var Control2

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${SIDE}"
!define MUI_ABORTWARNING
!define MUI_FINISHPAGE_RUN
!define MUI_FINISHPAGE_RUN_TEXT "$(StartNowText)"
!define MUI_FINISHPAGE_RUN_FUNCTION StartNow
!insertmacro MUI_PAGE_LICENSE "${FROZEN}/LICENSE.txt"
Page custom ScopePage ScopeChosen
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
UninstPage custom un.HistoryPage un.HistoryChosen
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"   ; the first is for every other language
!insertmacro MUI_LANGUAGE "German"
!insertmacro MUI_LANGUAGE "SimpChinese"
!include "${__FILEDIR__}/texts.nsh"
!include "${__FILEDIR__}/history.nsh"

; --- for whom, and where ---------------------------------------------------------------------------------------

!macro IsAdministrator result
  UserInfo::GetAccountType
  Pop ${result}
  ${If} ${result} == "Admin"
    StrCpy ${result} 1
  ${Else}
    StrCpy ${result} 0
  ${EndIf}
!macroend

; SYSTEM, whom software distribution runs as, has no desktop and no folder that anybody sees.
!macro IsSystem result
  StrCpy ${result} 0
  System::Call 'advapi32::ConvertStringSidToSidW(w "S-1-5-18", *p .r1) i .r0'
  ${If} $0 <> 0
    System::Call 'advapi32::CheckTokenMembership(p 0, p r1, *i .r2) i .r0'
    ${If} $0 <> 0
    ${AndIf} $2 <> 0
      StrCpy ${result} 1
    ${EndIf}
    System::Call 'kernel32::LocalFree(p r1)'
  ${EndIf}
!macroend

Function .onInit
  ${IfNot} ${RunningX64}
    SetErrorLevel ${OTHER_MACHINE}
    MessageBox MB_OK|MB_ICONEXCLAMATION "$(Needs64Bits)" /SD IDOK
    Quit
  ${EndIf}
  SetRegView 64
  ${GetParameters} $R0
  StrCpy $FolderGiven 0
  ${If} $INSTDIR != ""
    StrCpy $FolderGiven 1
  ${EndIf}
  StrCpy $OnDesktop 0
  ClearErrors
  ${GetOptions} $R0 "/DESKTOP" $R1
  ${IfNot} ${Errors}
    StrCpy $OnDesktop 1
  ${EndIf}
  StrCpy $OnPath 0
  ClearErrors
  ${GetOptions} $R0 "/PATH" $R1
  ${IfNot} ${Errors}
    StrCpy $OnPath 1
  ${EndIf}
  !insertmacro IsSystem $Everybody
  ClearErrors
  ${GetOptions} $R0 "/ALLUSERS" $R1
  ${IfNot} ${Errors}
    StrCpy $Everybody 1
    !insertmacro IsAdministrator $R2
    ${If} $R2 == 0
    ${AndIf} ${Silent}
      SetErrorLevel ${ADMINISTRATOR_NEEDED}
      Quit
    ${EndIf}
  ${EndIf}
  Call IsByMsi
  ${If} $0 != ""
    SetErrorLevel ${MSI_IS_THERE}
    Quit
  ${EndIf}
  Call ForWhom
FunctionEnd

Function ForWhom   ; the places that follow from $Everybody
  ${If} $Everybody == 1
    SetShellVarContext all
    StrCpy $Whose machine
  ${Else}
    SetShellVarContext current
    StrCpy $Whose user
  ${EndIf}
  ${If} $FolderGiven == 0
    ReadRegStr $INSTDIR SHCTX "${INSTALLED}" "InstallLocation"
    ${If} $INSTDIR == ""
      ${If} $Everybody == 1
        StrCpy $INSTDIR "$PROGRAMFILES64\${NAME}"
      ${Else}
        StrCpy $INSTDIR "$LOCALAPPDATA\Programs\${NAME}"
      ${EndIf}
    ${EndIf}
  ${EndIf}
FunctionEnd

Function ScopePage
  !insertmacro MUI_HEADER_TEXT "$(ScopeTitle)" "$(ScopeSubtitle)"
  nsDialogs::Create 1018
  Pop $Control
  ${NSD_CreateRadioButton} 0 10u 100% 12u "$(ScopeMe)"
  Pop $Control
  ${NSD_CreateRadioButton} 0 26u 100% 12u "$(ScopeAll)"
  Pop $Control2
  ${If} $Everybody == 1
    ${NSD_Check} $Control2
  ${Else}
    ${NSD_Check} $Control
  ${EndIf}
  ${NSD_CreateCheckBox} 0 56u 100% 12u "$(DesktopText)"
  Pop $R9
  ${If} $OnDesktop == 1
    ${NSD_Check} $R9
  ${EndIf}
  ${NSD_CreateCheckBox} 0 72u 100% 12u "$(PathText)"
  Pop $PathBox
  ${If} $OnPath == 1
    ${NSD_Check} $PathBox
  ${EndIf}
  nsDialogs::Show
FunctionEnd

Function ScopeChosen
  ${NSD_GetState} $R9 $OnDesktop
  ${NSD_GetState} $PathBox $OnPath
  ${NSD_GetState} $Control2 $Everybody
  ${If} $Everybody == 1
    !insertmacro IsAdministrator $R2
    ${If} $R2 == 0
      StrCpy $R3 "/ALLUSERS"
      ${If} $OnDesktop == 1
        StrCpy $R3 "$R3 /DESKTOP"
      ${EndIf}
      ${If} $OnPath == 1
        StrCpy $R3 "$R3 /PATH"
      ${EndIf}
      ClearErrors
      ExecShell "runas" "$EXEPATH" "$R3"
      ${If} ${Errors}
        Abort   ; the consent was refused: the page stays
      ${EndIf}
      Quit
    ${EndIf}
  ${EndIf}
  Call IsByMsi
  ${If} $0 != ""
    Abort
  ${EndIf}
  Call ForWhom
  Call TellOfOther
FunctionEnd

Function IsByMsi   ; Windows Installer repairs and removes what it brought: nobody else writes there. Leaves the folder in $0
  StrCpy $0 ""
  ${If} $Everybody == 1
    ReadRegStr $0 HKLM "${BY_MSI}" "InstalledByMsi"
    ${If} $0 != ""
      MessageBox MB_OK|MB_ICONEXCLAMATION "$(ByMsi)" /SD IDOK
    ${EndIf}
  ${EndIf}
FunctionEnd

Function TellOfOther   ; two copies work, each with its own updates: say where the other is, and let the person decide
  ${If} $Everybody == 1
    ReadRegStr $0 HKCU "${INSTALLED}" "InstallLocation"
  ${Else}
    ReadRegStr $0 HKLM "${INSTALLED}" "InstallLocation"
    ${If} $0 == ""
      ReadRegStr $0 HKLM "${BY_MSI}" "InstalledByMsi"
    ${EndIf}
  ${EndIf}
  ${If} $0 != ""
  ${AndIf} $0 != $INSTDIR
    ${If} ${Cmd} 'MessageBox MB_OKCANCEL|MB_ICONQUESTION "$(OtherCopy)" /SD IDOK IDCANCEL'
      Abort
    ${EndIf}
  ${EndIf}
FunctionEnd

; --- a running Convalesce ---------------------------------------------------------------------------------------

!macro RunningFunctions un
; Asks the windows of our programs to close, and waits until their files are free. Leaves "1" on the stack if they are.
Function ${un}CloseRunning
  StrCpy $0 0
  ${Do}   ; every visible top-level window whose program lies in our folder
    System::Call 'user32::FindWindowExW(p 0, p r0, p 0, p 0) p .r0'
    ${If} $0 P= 0
      ${Break}
    ${EndIf}
    System::Call 'user32::IsWindowVisible(p r0) i .r1'
    ${If} $1 <> 0
      System::Call 'user32::GetWindowThreadProcessId(p r0, *i .r2)'
      System::Call 'kernel32::OpenProcess(i 0x1000, i 0, i r2) p .r3'
      ${If} $3 P<> 0
        StrCpy $4 ""
        System::Call 'kernel32::QueryFullProcessImageNameW(p r3, i 0, w .r4, *i ${NSIS_MAX_STRLEN}) i .r5'
        System::Call 'kernel32::CloseHandle(p r3)'
        ${If} $4 == "$INSTDIR\${WINDOW}"
        ${OrIf} $4 == "$INSTDIR\${TERMINAL}"
          System::Call 'user32::PostMessageW(p r0, i ${WM_CLOSE}, p 0, p 0)'
        ${EndIf}
      ${EndIf}
    ${EndIf}
  ${Loop}
  ${For} $1 1 60
    Call ${un}FilesFree
    Pop $0
    ${If} $0 == 1
      ${Break}
    ${EndIf}
    Sleep 250
  ${Next}
  Push $0
FunctionEnd

Function ${un}FilesFree   ; leaves "1" on the stack when no program runs
  StrCpy $2 1
  ${ForEach} $3 1 2 + 1
    ${If} $3 == 1
      StrCpy $4 "$INSTDIR\${WINDOW}"
    ${Else}
      StrCpy $4 "$INSTDIR\${TERMINAL}"
    ${EndIf}
    ${If} ${FileExists} $4
      ClearErrors
      FileOpen $5 $4 a
      ${If} ${Errors}
        StrCpy $2 0
      ${Else}
        FileClose $5
      ${EndIf}
    ${EndIf}
  ${Next}
  Push $2
FunctionEnd
!macroend
!insertmacro RunningFunctions ""
!insertmacro RunningFunctions "un."

!macro EnsureClosed un
  ${Do}
    Call ${un}FilesFree
    Pop $0
    ${If} $0 == 1
      ${Break}
    ${EndIf}
    Call ${un}CloseRunning
    Pop $0
    ${If} $0 == 1
      ${Break}
    ${EndIf}
    ${If} ${Cmd} 'MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(Running)" /SD IDCANCEL IDCANCEL'
      SetErrorLevel ${IN_USE}
      Abort
    ${EndIf}
  ${Loop}
!macroend

; --- installing -------------------------------------------------------------------------------------------------

; The old version is put aside and comes back if anything fails on the way.
!macro PutAside name
  RMDir /r "$INSTDIR\${name}.old"
  Delete "$INSTDIR\${name}.old"
  ${If} ${FileExists} "$INSTDIR\${name}"
    ClearErrors
    Rename "$INSTDIR\${name}" "$INSTDIR\${name}.old"
    ${If} ${Errors}
      Call BringAllBack
      SetErrorLevel ${IN_USE}
      MessageBox MB_OK|MB_ICONEXCLAMATION "$(Running)" /SD IDOK
      Abort
    ${EndIf}
  ${EndIf}
!macroend
!macro BringBack name
  ${If} ${FileExists} "$INSTDIR\${name}.old"
    RMDir /r "$INSTDIR\${name}"
    Delete "$INSTDIR\${name}"
    Rename "$INSTDIR\${name}.old" "$INSTDIR\${name}"
  ${EndIf}
!macroend
!macro Drop name
  RMDir /r "$INSTDIR\${name}.old"
  Delete "$INSTDIR\${name}.old"
!macroend

Function BringAllBack
  !insertmacro BringBack "_internal"
  !insertmacro BringBack "${WINDOW}"
  !insertmacro BringBack "${TERMINAL}"
FunctionEnd

Function .onInstFailed
  Call BringAllBack
FunctionEnd

Function RefuseOccupied   ; a folder that holds other things is not ours to fill, nor to clear at an update
  ${If} ${FileExists} "$INSTDIR\*.*"
  ${AndIfNot} ${FileExists} "$INSTDIR\${TERMINAL}"
  ${AndIfNot} ${FileExists} "$INSTDIR\${TERMINAL}.old"   ; an update that was cut off
    ${DirState} "$INSTDIR" $0
    ${If} $0 == 1
      SetErrorLevel ${OCCUPIED}
      MessageBox MB_OK|MB_ICONEXCLAMATION "$(Occupied)" /SD IDOK
      Abort
    ${EndIf}
  ${EndIf}
FunctionEnd

Section
  Call RefuseOccupied
  !insertmacro EnsureClosed ""
  !insertmacro PutAside "_internal"
  !insertmacro PutAside "${WINDOW}"
  !insertmacro PutAside "${TERMINAL}"
  ClearErrors
  !include "${FILES}"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  ${If} ${Errors}
    Call BringAllBack
    SetErrorLevel 2
    Abort "$(NotWritten)"
  ${EndIf}
  !insertmacro Drop "_internal"
  !insertmacro Drop "${WINDOW}"
  !insertmacro Drop "${TERMINAL}"
  ${If} $Everybody == 1
    !insertmacro MakeHistory
  ${EndIf}

  SetOutPath "$INSTDIR"
  CreateShortcut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\${WINDOW}" "" "$INSTDIR\${WINDOW}" 0
  ${If} $OnDesktop == 1
    CreateShortcut "$DESKTOP\${NAME}.lnk" "$INSTDIR\${WINDOW}" "" "$INSTDIR\${WINDOW}" 0
  ${EndIf}
  ; a prompt that knows the command: PATH itself stays as it is
  SetOutPath "$PROFILE"
  CreateShortcut "$SMPROGRAMS\${NAME} Prompt.lnk" "$SYSDIR\cmd.exe" '/k "set "PATH=$INSTDIR;%PATH%" & convalesce --help"' "$INSTDIR\${TERMINAL}" 0
  SetOutPath "$INSTDIR"
  WriteRegStr SHCTX "${APP_PATHS}\${TERMINAL}" "" "$INSTDIR\${TERMINAL}"
  WriteRegStr SHCTX "${APP_PATHS}\${WINDOW}" "" "$INSTDIR\${WINDOW}"
  WriteRegStr SHCTX "${INSTALLED}" "DisplayName" "${NAME}"
  WriteRegStr SHCTX "${INSTALLED}" "DisplayVersion" "${VERSION}"
  WriteRegStr SHCTX "${INSTALLED}" "Publisher" "The Convalesce project"
  WriteRegStr SHCTX "${INSTALLED}" "DisplayIcon" "$INSTDIR\${WINDOW},0"
  WriteRegStr SHCTX "${INSTALLED}" "InstallLocation" "$INSTDIR"
  WriteRegStr SHCTX "${INSTALLED}" "UninstallString" '"$INSTDIR\uninstall.exe" _?=$INSTDIR'
  WriteRegStr SHCTX "${INSTALLED}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S _?=$INSTDIR'
  WriteRegDWORD SHCTX "${INSTALLED}" "EstimatedSize" ${KILOBYTES}
  ${If} $OnPath == 1   ; our own program edits PATH: the strings of NSIS are too short for it, and lose its kind
    nsExec::ExecToLog '"$INSTDIR\${TERMINAL}" --own-path add $Whose'
    Pop $0
    ${If} $0 == 0
      WriteRegDWORD SHCTX "${INSTALLED}" "OnPath" 1
    ${Else}
      MessageBox MB_OK|MB_ICONEXCLAMATION "$(PathStays)" /SD IDOK
    ${EndIf}
  ${EndIf}
  WriteRegDWORD SHCTX "${INSTALLED}" "NoModify" 1
  WriteRegDWORD SHCTX "${INSTALLED}" "NoRepair" 1
SectionEnd

Function StartNow
  ${If} $Everybody == 1   ; Explorer starts it with the person's own rights, not with an administrator's
    Exec '"$WINDIR\explorer.exe" "$INSTDIR\${WINDOW}"'
  ${Else}
    Exec '"$INSTDIR\${WINDOW}"'
  ${EndIf}
FunctionEnd

!macro DropAppPath program   ; another copy's entry stays
  ReadRegStr $0 SHCTX "${APP_PATHS}\${program}" ""
  ${If} $0 == "$INSTDIR\${program}"
    DeleteRegKey SHCTX "${APP_PATHS}\${program}"
  ${EndIf}
!macroend

; --- removing ---------------------------------------------------------------------------------------------------

Function un.onInit
  SetRegView 64
  ${IfNot} ${FileExists} "$INSTDIR\uninstall.exe"   ; _?= named another folder, or swallowed an option behind it
    SetErrorLevel 2
    Quit
  ${EndIf}
  ${GetParameters} $R0
  ReadRegStr $0 HKLM "${INSTALLED}" "InstallLocation"
  StrCpy $Everybody 0
  StrCpy $Whose user
  ${If} $0 == $INSTDIR
    StrCpy $Everybody 1
    StrCpy $Whose machine
    SetShellVarContext all
    !insertmacro IsAdministrator $R2
    ${If} $R2 == 0
      ${If} ${Silent}
        SetErrorLevel ${ADMINISTRATOR_NEEDED}
      ${Else}
        ExecShell "runas" "$INSTDIR\uninstall.exe" "$R0"
      ${EndIf}
      Quit
    ${EndIf}
  ${Else}
    SetShellVarContext current
  ${EndIf}
  StrCpy $TakeBack 0
  ClearErrors
  ${GetOptions} $R0 "/UNDO" $R1
  ${IfNot} ${Errors}
    StrCpy $TakeBack 1
  ${EndIf}
  StrCpy $Forget 0
  ClearErrors
  ${GetOptions} $R0 "/REMOVEHISTORY" $R1
  ${IfNot} ${Errors}
    StrCpy $Forget 1
  ${EndIf}
FunctionEnd

Function un.OtherHistories   ; fills $Others: an administrator can look into the other accounts' folders, nobody else
  StrCpy $Others ""
  ReadEnvStr $R3 "PUBLIC"
  ${GetParent} "$R3" $R3
  FindFirst $R4 $R5 "$R3\*.*"
  ${DoWhile} $R5 != ""
    ${If} "$R3\$R5" != $PROFILE
    ${AndIf} ${FileExists} "$R3\$R5\AppData\Local\convalesce\entries\*.json"
      StrCpy $Others "$Others $R5"
    ${EndIf}
    FindNext $R4 $R5
  ${Loop}
  FindClose $R4
  ${If} $Others != ""
    StrCpy $Others "$(OthersHave)$Others"
  ${Else}
    !insertmacro IsAdministrator $R2
    ${If} $R2 == 0
      StrCpy $Others "$(OthersUnknown)"
    ${EndIf}
  ${EndIf}
FunctionEnd

Function un.HistoryPage
  !insertmacro MUI_HEADER_TEXT "$(HistoryTitle)" "$(HistorySubtitle)"
  nsExec::ExecToStack '"$INSTDIR\${TERMINAL}" undo --all'
  Pop $0
  Pop $Changes
  nsDialogs::Create 1018
  Pop $Control
  ${If} $0 == 0   ; nothing holds any more
    ${NSD_CreateLabel} 0 0 100% 24u "$(NothingHolds)"
    Pop $Control
    StrCpy $Control 0
  ${Else}
    ${NSD_CreateLabel} 0 0 100% 12u "$(StillHolds)"
    Pop $Control
    nsDialogs::CreateControl EDIT "${__NSD_Text_STYLE}|${WS_VSCROLL}|${ES_MULTILINE}|${ES_READONLY}|${ES_WANTRETURN}" "${__NSD_Text_EXSTYLE}" 0 14u 100% 66u "$Changes"
    Pop $Control
    ${NSD_CreateCheckBox} 0 86u 100% 12u "$(TakeBackText)"
    Pop $Control
    ${If} $TakeBack == 1
      ${NSD_Check} $Control
    ${EndIf}
  ${EndIf}
  ${NSD_CreateCheckBox} 0 104u 100% 20u "$(ForgetText)"
  Pop $Control2
  Call un.OtherHistories
  ${NSD_CreateLabel} 0 124u 100% 16u "$Others"
  Pop $R3
  ${If} $Forget == 1
    ${NSD_Check} $Control2
  ${EndIf}
  nsDialogs::Show
FunctionEnd

Function un.HistoryChosen
  ${If} $Control <> 0
    ${NSD_GetState} $Control $TakeBack
  ${EndIf}
  ${NSD_GetState} $Control2 $Forget
FunctionEnd

Section Uninstall
  !insertmacro EnsureClosed "un."
  ${If} $TakeBack == 1
    nsExec::ExecToLog '"$INSTDIR\${TERMINAL}" undo --all --yes'
    Pop $0
    ${If} $0 != 0
      SetErrorLevel 2
      MessageBox MB_OK|MB_ICONEXCLAMATION "$(NotTakenBack)" /SD IDOK
      Abort
    ${EndIf}
  ${EndIf}
  ReadRegDWORD $0 SHCTX "${INSTALLED}" "OnPath"
  ${If} $0 == 1
    nsExec::ExecToLog '"$INSTDIR\${TERMINAL}" --own-path remove $Whose'
    Pop $0
    ${If} $0 != 0
      SetErrorLevel 2
      MessageBox MB_OK|MB_ICONEXCLAMATION "$(PathKept)" /SD IDOK
      Abort
    ${EndIf}
    DeleteRegValue SHCTX "${INSTALLED}" "OnPath"
  ${EndIf}
  RMDir /r "$INSTDIR\_internal"
  !insertmacro Drop "_internal"
  !insertmacro Drop "${WINDOW}"
  !insertmacro Drop "${TERMINAL}"
  !include "${FILES}.un"
  SetOutPath "$TEMP"   ; a folder in which a program works cannot be removed
  ${If} $EXEPATH == "$INSTDIR\uninstall.exe"   ; no program can remove itself: somebody else does so as soon as it has ended
    ; then the folder, as soon as nobody looks into it any more. Once its file is gone, nothing else is deleted: a new installation may have begun there
    StrCpy $0 'rmdir "$INSTDIR" & if not exist "$INSTDIR" (rmdir "$LOCALAPPDATA\Programs" & exit)'
    StrCpy $0 'for /l %j in (1,1,60) do ($0 & ping -n 2 127.0.0.1)'
    StrCpy $0 'del "$INSTDIR\uninstall.exe" & if not exist "$INSTDIR\uninstall.exe" ($0 & exit)'
    ExecShell "open" "$SYSDIR\cmd.exe" '/d /s /c "for /l %i in (1,1,60) do ($0 & ping -n 2 127.0.0.1)"' SW_HIDE
  ${Else}
    Delete "$INSTDIR\uninstall.exe"
    RMDir "$INSTDIR"
  ${EndIf}
  Delete "$SMPROGRAMS\${NAME}.lnk"
  Delete "$DESKTOP\${NAME}.lnk"
  Delete "$SMPROGRAMS\${NAME} Prompt.lnk"
  !insertmacro DropAppPath "${TERMINAL}"
  !insertmacro DropAppPath "${WINDOW}"
  DeleteRegKey /ifempty HKCU "${APP_PATHS}"
  DeleteRegKey SHCTX "${INSTALLED}"
  DeleteRegKey /ifempty HKCU "Software\Microsoft\Windows\CurrentVersion\Uninstall"   ; an account's first program made it
  RMDir "$LOCALAPPDATA\Programs"   ; only when it is empty
  DeleteRegKey HKCU "Software\convalesce\convalesce"   ; the window's settings
  DeleteRegKey /ifempty HKCU "Software\convalesce"
  ${If} $Everybody == 1
    !insertmacro DropEmptyHistory
  ${EndIf}
  SetShellVarContext current
  RMDir /r "$LOCALAPPDATA\convalesce\Cache"   ; what a scan keeps of the libraries that it read
  ${If} $Forget == 1
    RMDir /r "$LOCALAPPDATA\convalesce"
  ${EndIf}
  RMDir "$LOCALAPPDATA\convalesce"   ; only when no history is in it
SectionEnd
